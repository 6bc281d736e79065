import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import type { Conversation, ConversationStore } from '@turnpike/conversation';
import {
  addedItemsOf,
  ApiError,
  checkInclude,
  parseJson,
  quotable,
  type ConversationObject,
  type Item,
} from '@turnpike/protocol';
import type { Request } from 'express';
import type { Config } from '../config/schema.js';
import { CONFIG, CONVERSATIONS } from '../tokens.js';
import { unknownConversation } from '../turn/conversation-beginning.js';
import { AddedItems } from './added-items.js';
import { objectOf } from './conversations.controller.js';
import { pageFrom, parsePageQuery, unknownCursor, type Page } from './page.js';
import { readBody } from './read-body.js';

/** The items of a conversation. Everything there is of one is shown, whatever `include` names of what there can be. */
@Controller(['v1/conversations/:id/items', 'conversations/:id/items'])
export class ConversationItemsController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(CONVERSATIONS) private readonly conversations: ConversationStore,
    @Inject(AddedItems) private readonly added: AddedItems,
  ) {}

  @Post()
  @HttpCode(200)
  async create(@Param('id') id: string, @Req() request: Request): Promise<Page<Item>> {
    const { tenant } = await this.keys.authenticate(request);
    const body = parseJson(await readBody(request, this.config.limits.bodyBytes));
    const items = await this.added.read(addedItemsOf(body, 'required'), tenant);
    if (!(await this.conversations.append(tenant, id, items)))
      throw unknownConversation(id, 'conversation_id');
    return pageFrom(
      items.map(({ item }) => item),
      false,
    );
  }

  @Get()
  async list(
    @Param('id') id: string,
    @Query() query: Record<string, unknown>,
    @Req() request: Request,
  ): Promise<Page<Item>> {
    const { tenant } = await this.keys.authenticate(request);
    const pageQuery = parsePageQuery(query);
    checkInclude(query);
    await this.#find(tenant, id);
    const page = await this.conversations.listItems(tenant, id, pageQuery);
    if (page === undefined) throw unknownCursor(pageQuery.after);
    return pageFrom(page.items, page.hasMore);
  }

  @Get(':item')
  async retrieve(
    @Param('id') id: string,
    @Param('item') itemId: string,
    @Query() query: Record<string, unknown>,
    @Req() request: Request,
  ): Promise<Item> {
    const { tenant } = await this.keys.authenticate(request);
    checkInclude(query);
    await this.#find(tenant, id);
    const item = await this.conversations.findItem(tenant, id, itemId);
    if (item === undefined) throw unknownItem(itemId);
    return item;
  }

  /** Answers with the conversation, as OpenAI's API does. */
  @Delete(':item')
  async delete(
    @Param('id') id: string,
    @Param('item') itemId: string,
    @Req() request: Request,
  ): Promise<ConversationObject> {
    const { tenant } = await this.keys.authenticate(request);
    const conversation = await this.#find(tenant, id);
    if (!(await this.conversations.removeItem(tenant, id, itemId))) throw unknownItem(itemId);
    return objectOf(conversation);
  }

  async #find(tenant: string, id: string): Promise<Conversation> {
    const conversation = await this.conversations.find(tenant, id);
    if (conversation === undefined) throw unknownConversation(id, 'conversation_id');
    return conversation;
  }
}

function unknownItem(id: string): ApiError {
  const message = `Item with id '${quotable(id)}' not found.`;
  return new ApiError('item_not_found', { param: 'item_id', message });
}
