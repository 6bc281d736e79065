export { TokenLog } from './token-log.js';
export { renderedBytes, type ChainEnd, type Rendered, type RenderedHead } from './rendered.js';
export { renderedCodec } from './rendered-codec.js';
export type { HeadKey } from './head.js';
export type { ReasoningSegment, Tail } from './tail.js';
export { Rendering, RenderingStage, type FormatProvider } from './rendering.stage.js';
export { promptLength, promptOf, type Prompt, type PromptEnding } from './prompt.js';
export { settingsOf, type ChainSettings } from './chain-settings.js';
export type { WrittenItem } from './item-runs.js';
