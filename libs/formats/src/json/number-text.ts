/** Whether JSON text of a number is one with a fraction or an exponent, which Python reads as a float. */
export function isFloat(text: string): boolean {
  return /[.eE]/.test(text);
}

/**
 * A float as Python's `repr` writes it, and with it `json.dumps`: the shortest digits that give the number back, as in
 * JavaScript, but with a fraction on whole numbers (`100.0`) and the exponent where it is below -4 or 16 and up (`1e-07`).
 */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [mantissa = '0', power = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    const places = String(Math.abs(exponent)).padStart(2, '0');
    return `${sign}${digits.slice(0, 1)}${fraction}e${exponent < 0 ? '-' : '+'}${places}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`;
}
