import type { Principal } from '@turnpike/access';
import { ApiError, quotable } from '@turnpike/protocol';

/** Whether a key may ask for a model. */
export function mayUse({ models }: Pick<Principal, 'models'>, model: string): boolean {
  return models === undefined || models.includes(model);
}

/** What a client is told of a model that is not there, and of one that its key may not use: the same. */
export function unknownModel(model: string): ApiError {
  return new ApiError('model_not_found', {
    param: 'model',
    message: `The model '${quotable(model)}' does not exist.`,
  });
}
