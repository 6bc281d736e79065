import { Controller, Get, Inject, Param, Req } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import type { RouterStrategy } from '@turnpike/routing';
import type { Request } from 'express';
import { ROUTER } from '../tokens.js';
import { mayUse, unknownModel } from '../turn/allowed-model.js';

/** The models that can be asked for. */
@Controller(['v1/models', 'models'])
export class ModelsController {
  constructor(
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(ROUTER) private readonly router: RouterStrategy,
  ) {}

  @Get()
  async list(@Req() request: Request) {
    const principal = await this.keys.authenticate(request);
    const models = this.router.models().filter((model) => mayUse(principal, model));
    return { object: 'list', data: models.map(modelObject) };
  }

  /** Names of models hold slashes, which clients send as they are, or encoded. */
  @Get('*id')
  async get(@Param('id') parts: string | string[], @Req() request: Request) {
    const principal = await this.keys.authenticate(request);
    const id = [parts].flat().join('/');
    if (!this.router.models().includes(id) || !mayUse(principal, id)) throw unknownModel(id);
    return modelObject(id);
  }
}

/** Models are configured or found, not made: their age means nothing, so it is a constant. */
function modelObject(id: string) {
  return { id, object: 'model', created: 0, owned_by: 'turnpike' };
}
