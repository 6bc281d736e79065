import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Req } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import type { Conversation, ConversationStore } from '@turnpike/conversation';
import {
  addedItemsOf,
  mintId,
  parseConversationMetadata,
  parseJson,
  type ConversationObject,
} from '@turnpike/protocol';
import type { Request } from 'express';
import type { Config } from '../config/schema.js';
import { CONFIG, CONVERSATIONS } from '../tokens.js';
import { unknownConversation } from '../turn/conversation-beginning.js';
import { AddedItems } from './added-items.js';
import { readBody } from './read-body.js';

/** Conversations without their items. Another tenant's id is as unknown as one that never was. */
@Controller(['v1/conversations', 'conversations'])
export class ConversationsController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(CONVERSATIONS) private readonly conversations: ConversationStore,
    @Inject(AddedItems) private readonly added: AddedItems,
  ) {}

  @Post()
  @HttpCode(200)
  async create(@Req() request: Request): Promise<ConversationObject> {
    const { tenant } = await this.keys.authenticate(request);
    // Nothing of it is required: SDKs send no body where nothing is given.
    const body = parseJson((await readBody(request, this.config.limits.bodyBytes)) || '{}');
    const metadata = parseConversationMetadata(body, 'optional');
    const items = await this.added.read(addedItemsOf(body, 'optional'), tenant);
    const conversation = { id: mintId('conversation'), createdAt: Date.now(), metadata };
    await this.conversations.create(tenant, conversation, items);
    return objectOf(conversation);
  }

  @Get(':id')
  async retrieve(@Param('id') id: string, @Req() request: Request): Promise<ConversationObject> {
    const { tenant } = await this.keys.authenticate(request);
    return this.#shown(tenant, id);
  }

  @Post(':id')
  @HttpCode(200)
  async update(@Param('id') id: string, @Req() request: Request): Promise<ConversationObject> {
    const { tenant } = await this.keys.authenticate(request);
    const body = parseJson(await readBody(request, this.config.limits.bodyBytes));
    const metadata = parseConversationMetadata(body, 'required');
    await this.conversations.setMetadata(tenant, id, metadata);
    return this.#shown(tenant, id);
  }

  @Delete(':id')
  async delete(@Param('id') id: string, @Req() request: Request) {
    const { tenant } = await this.keys.authenticate(request);
    if (!(await this.conversations.delete(tenant, id))) throw unknownConversation(id, 'conversation_id');
    return { id, object: 'conversation.deleted', deleted: true };
  }

  async #shown(tenant: string, id: string): Promise<ConversationObject> {
    const conversation = await this.conversations.find(tenant, id);
    if (conversation === undefined) throw unknownConversation(id, 'conversation_id');
    return objectOf(conversation);
  }
}

/** A conversation as the API shows it. */
export function objectOf({ id, createdAt, metadata }: Conversation): ConversationObject {
  return { id, object: 'conversation', created_at: Math.floor(createdAt / 1000), metadata: { ...metadata } };
}
