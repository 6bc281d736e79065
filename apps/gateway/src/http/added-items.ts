import { Inject, Injectable } from '@nestjs/common';
import type { ConversationStore, ResponseStore } from '@turnpike/conversation';
import { ImageLoader, imagePartsOf, sourceOf } from '@turnpike/images';
import { parseAddedItems } from '@turnpike/protocol';
import { Sealer } from '@turnpike/sealing';
import type { TurnItem } from '@turnpike/turns';
import { checkUpdate, refuseFiles } from '@turnpike/validation';
import { CONVERSATIONS, STORE } from '../tokens.js';
import { joiningItems } from '../turn/conversation-items.js';
import { expandItems } from '../turn/item-references.js';
import { turnItems } from '../turn/turn-items.js';

/** Items that a client adds to a conversation without a turn: what can be refused of them now is not left to a turn. */
@Injectable()
export class AddedItems {
  constructor(
    @Inject(STORE) private readonly store: ResponseStore,
    @Inject(CONVERSATIONS) private readonly conversations: ConversationStore,
    @Inject(Sealer) private readonly sealer: Sealer,
    @Inject(ImageLoader) private readonly images: ImageLoader,
  ) {}

  /**
   * The items as they join a conversation.
   * @param values as they stand in the body
   * @throws ApiError naming the item and field under `items`
   */
  async read(values: readonly unknown[], tenant: string): Promise<TurnItem[]> {
    const whole = await expandItems(values, 'items', tenant, [this.store, this.conversations]);
    const items = parseAddedItems(whole);
    items.forEach((item, index) => {
      refuseFiles(item, `items[${index}]`);
      checkUpdate(item, `items[${index}]`);
    });
    const images = items.flatMap((item, index) => imagePartsOf(item, `items[${index}]`));
    this.images.check(images.map(sourceOf));
    return joiningItems(turnItems(items, tenant, this.sealer, 'items'));
  }
}
