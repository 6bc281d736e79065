/** What models write in Harmony, as text, and the tools that it is about. */
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
export const WEATHER = { type: 'function', name: 'get_weather', parameters: CITY };
export const PATCH = { type: 'custom', name: 'apply_patch' };
export const TOOLS = [
  WEATHER,
  PATCH,
  { type: 'function', name: 'f' },
  { type: 'function', name: 'web-browsing' },
];

export const START = '<|start|>assistant';
export const THINK = `<|channel|>analysis<|message|>need tool<|end|>${START}`;
export const callOf = (name: string, args: string) =>
  `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}`;
export const answerOf = (text: string) => `<|channel|>final<|message|>${text}`;
