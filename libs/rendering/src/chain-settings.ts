import type { Item, ReasoningEffort, ResponseRequest, TextFormat } from '@turnpike/protocol';

/** What `configuration_update` items have set, as far as they have set anything. Immutable. */
export interface ChainSettings {
  readonly effort?: ReasoningEffort | undefined;
  readonly format?: TextFormat | undefined;
}

export const NO_SETTINGS: ChainSettings = {};

/** The settings behind these items: each holds until a later item replaces it. The same object when none does. */
export function foldSettings(before: ChainSettings, items: Iterable<Item>): ChainSettings {
  let settings = before;
  for (const item of items) {
    if (item.type !== 'configuration_update') continue;
    const effort = item.reasoning?.effort ?? settings.effort;
    const format = item.text?.format ?? settings.format;
    if (effort !== settings.effort || format !== settings.format) settings = { effort, format };
  }
  return settings;
}

/**
 * What holds for one response. An item of the chain goes before the request, which clients send unchanged with every turn
 * (docs/decisions, "An update goes before the request").
 */
export function settingsOf(
  { reasoning, text }: Pick<ResponseRequest, 'reasoning' | 'text'>,
  { effort = reasoning.effort, format = text.format }: ChainSettings,
): { readonly effort: ReasoningEffort | undefined; readonly format: TextFormat } {
  return { effort, format };
}
