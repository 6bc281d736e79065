/**
 * What a rule or a classifier is about. The hazards are those of MLCommons AILuminate; other vocabularies are mapped to
 * them where they come in, and nowhere else. The last three are about attacks and data rather than about harm.
 */
export const CATEGORIES = [
  'violent_crimes',
  'nonviolent_crimes',
  'sex_related_crimes',
  'child_sexual_exploitation',
  'defamation',
  'specialized_advice',
  'privacy',
  'intellectual_property',
  'indiscriminate_weapons',
  'hate',
  'suicide_and_self_harm',
  'sexual_content',
  'elections',
  'code_interpreter_abuse',
  'prompt_injection',
  'secrets',
  'test',
] as const;

export type Category = (typeof CATEGORIES)[number];

/** Where a text stands: thresholds and actions differ by it. */
export const ITEM_KINDS = [
  'instructions',
  'tools',
  'user',
  'developer',
  'assistant',
  'reasoning',
  'tool_call',
  'tool_output',
] as const;

export type ItemKind = (typeof ITEM_KINDS)[number];

/** What becomes of a finding. */
export type Action = 'off' | 'flag' | 'block';
