import { type Item } from '@turnpike/protocol';
import { type OpenCalls, type Piece } from '../format.js';
import { spokenOf } from '../spoken/items.js';
import { IMAGE, type Content, type Spoken } from '../spoken/spoken.js';
import { HARMONY } from '../tokenizer/o200k-harmony.js';
import { FUNCTIONS } from '../tools/namespaces.js';
import { addedToolsPieces } from './added-tools.js';
import { instructionsSection } from './head.js';
import { callHeader, messagePieces } from './message.js';

/** Pieces of one conversation item; the mapping is the table in this library's README. */
export function itemPieces(item: Item, calls: OpenCalls): Piece[] {
  return spokenOf(item, calls).flatMap(pieces);
}

function pieces(spoken: Spoken): Piece[] {
  switch (spoken.kind) {
    case 'user':
      return messagePieces({ author: 'user', content: contentPieces(spoken.content) });
    case 'answer':
      return messagePieces({
        author: 'assistant',
        channel: spoken.commentary ? 'commentary' : 'final',
        content: contentPieces(spoken.content),
      });
    case 'developer':
      return messagePieces({
        author: 'developer',
        content: joinedTexts([instructionsSection(''), ...contentPieces(spoken.content)]),
      });
    case 'reasoning':
      return messagePieces({ author: 'assistant', channel: 'analysis', content: spoken.texts });
    case 'call':
      return messagePieces({ ...callHeader(spoken.target), content: [spoken.content] });
    case 'output': {
      const { tool, content } = spoken;
      // An output whose call is unknown still reaches the model, from a tool without a name.
      const author = tool === undefined ? 'tool' : `${tool.namespace ?? FUNCTIONS}.${tool.name}`;
      return toolMessage(author, contentPieces(content));
    }
    case 'record':
      return toolMessage(spoken.author, [spoken.text]);
    case 'tools':
      return addedToolsPieces(spoken.tools);
  }
}

function toolMessage(author: string, content: readonly Piece[]): Piece[] {
  return messagePieces({ author, recipient: 'assistant', channel: 'commentary', content });
}

function contentPieces(content: Content): Piece[] {
  return content.map((part) => (part === IMAGE ? HARMONY.image : part));
}

/** The same pieces, texts that follow each other being one text. */
function joinedTexts(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') joined[joined.length - 1] = last + piece;
    else joined.push(piece);
  }
  return joined;
}
