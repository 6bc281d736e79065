import { ApiError, type InputImagePart, type Item, type MessagePart } from '@turnpike/protocol';
import type { ImageSource } from './image-loader.js';

/** An image part, and where in the request it stands. */
export interface PlacedImage {
  readonly part: InputImagePart;
  readonly path: string;
  /** Path of its URL. */
  readonly urlPath: string;
  /** Path of its uploaded file. */
  readonly filePath: string;
}

/** The image parts of an item, in their order. */
export function imagePartsOf(item: Item, path: string): PlacedImage[] {
  if (item.type === 'message') return placed(item.content, `${path}.content`);
  if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') return [];
  return typeof item.output === 'string' ? [] : placed(item.output, `${path}.output`);
}

function placed(parts: readonly MessagePart[], path: string): PlacedImage[] {
  return parts.flatMap((part, index) => {
    const at = `${path}[${index}]`;
    if (part.type !== 'input_image') return [];
    return [{ part, path: at, urlPath: `${at}.image_url`, filePath: `${at}.file_id` }];
  });
}

/** The image parts of an item that the request does not hold: errors name the field that the item came by. */
export function imagePartsBehind(item: Item, field: string): PlacedImage[] {
  return imagePartsOf(item, field).map(({ part }) => ({
    part,
    path: field,
    urlPath: field,
    filePath: field,
  }));
}

/**
 * An image part as it is loaded.
 * @throws ApiError unsupported_parameter for an uploaded file, missing_required_parameter
 */
export function sourceOf(image: PlacedImage): ImageSource {
  return { url: urlOf(image), param: image.urlPath };
}

function urlOf({ part, filePath, urlPath: param }: PlacedImage): string {
  const { image_url: url, file_id: file } = part;
  if (url !== undefined) return url;
  if (file !== undefined) {
    throw new ApiError('unsupported_parameter', {
      param: filePath,
      message: "This server keeps no files: send the image in a data: URL as 'image_url'.",
    });
  }
  throw new ApiError('missing_required_parameter', {
    param,
    message: `Missing required parameter: '${param}'.`,
  });
}
