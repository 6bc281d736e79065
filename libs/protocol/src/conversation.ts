/** The public conversation object. Source: openai-node `Conversation`. */
export interface ConversationObject {
  id: string;
  object: 'conversation';
  /** Seconds since the epoch. */
  created_at: number;
  metadata: Record<string, string>;
}
