export * from './format.js';
export * from './tokenizer/types.js';
export { HARMONY, o200kHarmony } from './tokenizer/o200k-harmony.js';
export { cl100k } from './tokenizer/cl100k.js';
export { tokenizerFromFile } from './tokenizer/vocabulary-file.js';
export { VocabularyError } from './tokenizer/vocabulary-error.js';
export { readGgufMetadata, type GgufValue } from './tokenizer/gguf-metadata.js';
export { INLINE_UNITS, TokenEncoder } from './tokenizer/encoder-pool.js';
export { harmony } from './harmony/harmony.js';
export { type MessageHeader } from './harmony/header.js';
export { scanMessages, type HarmonyMessage } from './harmony/scan.js';
export { chat } from './chat/chat.js';
export { reasoningFieldIds } from './chat/reasoning-ids.js';
export { requestTexts, type RequestTexts } from './chat/request-texts.js';
export { chatFunctions, chatTargets, functionName } from './chat/tools.js';
export { responses, responsesTools, sealedItemIds } from './responses/responses.js';
export { CallArguments } from './output/call-arguments.js';
export { turnParser, type TurnParserInput } from './output/turn-parser.js';
export { type TurnGrammar } from './output/turn-grammar.js';
export * from './output/grammars.js';
export { DIALOG_FAMILIES, familyFormat, type DialogFamily } from './families.js';
export { MissingControlToken } from './dialog/marks.js';
export { jinjaFormat, type JinjaFormatOptions } from './jinja/jinja-format.js';
export {
  specialTokensIn,
  specialTokensNamedIn,
  specialTokensOf,
  type SpecialTokens,
} from './jinja/special-tokens.js';
export { UnstableTemplate } from './jinja/bridge.js';
