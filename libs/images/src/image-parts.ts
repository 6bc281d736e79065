import { ApiError, type InputImagePart, type Item, type MessagePart } from '@turnpike/protocol';

/** An image part, and where in the request it stands. */
export interface PlacedImage {
  readonly part: InputImagePart;
  readonly path: string;
  /** Path of its URL. */
  readonly urlPath: string;
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
    return part.type === 'input_image' ? [{ part, path: at, urlPath: `${at}.image_url` }] : [];
  });
}

/**
 * The URL of an image part.
 * @throws ApiError unsupported_parameter for an uploaded file, missing_required_parameter
 */
export function urlOf({
  part: { image_url: url, file_id: file },
  path,
  urlPath: param,
}: PlacedImage): string {
  if (url !== undefined) return url;
  if (file !== undefined) {
    throw new ApiError('unsupported_parameter', {
      param: `${path}.file_id`,
      message: "This server keeps no files: send the image in a data: URL as 'image_url'.",
    });
  }
  throw new ApiError('missing_required_parameter', {
    param,
    message: `Missing required parameter: '${param}'.`,
  });
}
