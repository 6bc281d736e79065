import { Controller, Get, Headers, Inject, Param } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import { ApiError } from '@turnpike/protocol';
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

  @Get(':id')
  get(@Param('id') id: string, @Headers('authorization') authorization?: string) {
    this.keys.authenticate(authorization);
    if (!this.router.models().includes(id)) {
      throw new ApiError('model_not_found', { param: 'model', message: `The model '${id}' does not exist.` });
    }
    return modelObject(id);
  }
}

/** Models are configured, not made: their age means nothing, so it is a constant. */
function modelObject(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'turnpike' };
}
