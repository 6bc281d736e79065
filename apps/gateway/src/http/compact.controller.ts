import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import { parseJson } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import type { Config } from '../config/schema.js';
import { CONFIG } from '../tokens.js';
import { TurnService } from '../turn/turn.service.js';
import { readBody } from './read-body.js';

/** `POST /v1/responses/compact`: a conversation made short. */
@Controller(['v1/responses/compact', 'responses/compact'])
export class CompactController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(TurnService) private readonly turns: TurnService,
  ) {}

  @Post()
  async compact(@Req() request: Request, @Res() response: Response): Promise<void> {
    const principal = await this.keys.authenticate(request);
    const gone = new AbortController();
    response.on('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    const body = await readBody(request, this.config.limits.bodyBytes);
    const parsed = await this.turns.read(parseJson(body), 'http', principal);
    const window = await this.turns.compact(parsed, principal, gone.signal);
    response.status(200).json(window);
  }
}
