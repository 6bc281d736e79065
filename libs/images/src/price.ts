import type { ImageDetail } from '@turnpike/protocol';

/** What an image costs a model, in tokens. */
export type ImageRule = TileRule | PatchRule | { readonly tokens: 'fixed'; readonly each: number };

interface TileRule extends DetailRule {
  readonly tokens: 'tiles';
  readonly base: number;
  readonly tile: number;
}

interface PatchRule extends DetailRule {
  readonly tokens: 'patches';
  /** Pixels of a patch's side. */
  readonly patch: number;
  readonly maxPatches: number;
  /** Tokens of a patch. */
  readonly multiplier: number;
}

interface DetailRule {
  /**
   * Whether the engine scales images by their `detail`. If it does not, an image costs what all of it does, whatever the
   * client asked for: a price below that of the engine would leave no room for it.
   */
  readonly detail: boolean;
}

/** An image as far as its price goes. */
export interface Priced {
  readonly width: number;
  readonly height: number;
  /** Undefined is `auto`. */
  readonly detail?: ImageDetail | undefined;
}

/**
 * Tokens of one image. The rules are those that OpenAI publishes for its own models.
 * Source: developers.openai.com/api/docs/guides/images-vision, "Calculating costs".
 */
export function imageTokens(rule: ImageRule, image: Priced): number {
  switch (rule.tokens) {
    case 'tiles':
      return rule.detail && image.detail === 'low' ? rule.base : rule.base + rule.tile * tilesOf(image);
    case 'patches':
      return Math.ceil(patchesOf(rule, image) * rule.multiplier);
    case 'fixed':
      return rule.each;
  }
}

/** "Fit in a 2048px square. If the shortest side exceeds 768px, scale it down to 768px. Count the 512px squares." */
function tilesOf(image: Priced): number {
  let { width, height } = fitted(image, 2048);
  const shortest = Math.min(width, height);
  if (shortest > 768) {
    width = Math.floor((width * 768) / shortest);
    height = Math.floor((height * 768) / shortest);
  }
  return Math.ceil(width / 512) * Math.ceil(height / 512);
}

/** The side that each detail is fitted into, in pixels. */
const SIDES: Readonly<Record<ImageDetail, number>> = { low: 512, high: 2048, auto: 2048, original: Infinity };

/**
 * "Compute how many patches are needed to cover the image. When the budget is exceeded, scale the image down; adjust the
 * scale to stay within budget after converting to integer pixel dimensions."
 */
function patchesOf({ patch, maxPatches, detail }: PatchRule, image: Priced): number {
  const { width, height } = fitted(image, SIDES[detail ? (image.detail ?? 'auto') : 'original']);
  const covering = (w: number, h: number) => Math.ceil(w / patch) * Math.ceil(h / patch);
  const patches = covering(width, height);
  if (patches <= maxPatches) return patches;
  const shrink = Math.sqrt((patch * patch * maxPatches) / (width * height));
  const across = (width * shrink) / patch;
  const down = (height * shrink) / patch;
  // Of a strip thinner than a patch, as many as there may be: the published scale would be 0.
  if (across < 1 || down < 1) return maxPatches;
  const adjusted = shrink * Math.min(Math.floor(across) / across, Math.floor(down) / down);
  const left = covering(
    Math.max(1, Math.floor(width * adjusted)),
    Math.max(1, Math.floor(height * adjusted)),
  );
  return Math.min(left, maxPatches);
}

/** The size within a square, its proportions kept; smaller images are not enlarged. */
function fitted({ width, height }: Priced, side: number): { width: number; height: number } {
  const scale = Math.min(1, side / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}
