import { Controller, Get, Headers, Inject, Param } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import { ApiError, quotable } from '@turnpike/protocol';
import type { RouterStrategy } from '@turnpike/routing';
import { ROUTER } from '../tokens.js';

/** The models that can be asked for. */
@Controller(['v1/models', 'models'])
export class ModelsController {
  constructor(
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(ROUTER) private readonly router: RouterStrategy,
  ) {}

  @Get()
  list(@Headers('authorization') authorization?: string) {
    this.keys.authenticate(authorization);
    return { object: 'list', data: this.router.models().map(modelObject) };
  }

  /** Names of models hold slashes, which clients send as they are, or encoded. */
  @Get('*id')
  get(@Param('id') parts: string | string[], @Headers('authorization') authorization?: string) {
    this.keys.authenticate(authorization);
    const id = [parts].flat().join('/');
    if (!this.router.models().includes(id)) {
      const message = `The model '${quotable(id)}' does not exist.`;
      throw new ApiError('model_not_found', { param: 'model', message });
    }
    return modelObject(id);
  }
}

/** Models are configured or found, not made: their age means nothing, so it is a constant. */
function modelObject(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'turnpike' };
}
