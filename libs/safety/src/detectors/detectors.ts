/** Patterns that rules can ask for by name. */
export const DETECTORS = [
  /** Keys of well-known services, by their prefix and form. */
  'api_key',
  /** A private key in PEM, not its header alone. */
  'private_key',
  /** Numbers of payment cards, by issuer, length and check digit. */
  'payment_card',
  /** Bank accounts, by their check digits. */
  'iban',
  /** Korean resident registration numbers, by date and check digit. */
  'kr_resident_number',
  /** US social security numbers that are called so. */
  'us_ssn',
  /** Text that is shown in another order than it stands in. */
  'direction_override',
  /** Text in characters that cannot be seen. */
  'invisible_text',
] as const;

export type Detector = (typeof DETECTORS)[number];
