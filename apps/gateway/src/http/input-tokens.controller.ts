import { Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import { parseJson } from '@turnpike/protocol';
import type { Request } from 'express';
import type { Config } from '../config/schema.js';
import { CONFIG } from '../tokens.js';
import { TurnService } from '../turn/turn.service.js';
import { readBody } from './read-body.js';

/** `POST /v1/responses/input_tokens`: how many tokens a request would make the model read. */
@Controller(['v1/responses/input_tokens', 'responses/input_tokens'])
export class InputTokensController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(TurnService) private readonly turns: TurnService,
  ) {}

  @Post()
  @HttpCode(200)
  async count(@Req() request: Request) {
    const principal = await this.keys.authenticate(request);
    const body = await readBody(request, this.config.limits.bodyBytes);
    const parsed = await this.turns.read(parseJson(body), 'http', principal);
    return {
      object: 'response.input_tokens',
      input_tokens: await this.turns.countInput(parsed, principal.tenant),
    };
  }
}
