import type { Said } from './deltas.js';

const OPEN = '<think>';
const CLOSE = '</think>';

/**
 * Takes the reasoning out of the content of servers that leave it there: what stands between `<think>`, with which an output
 * begins, and `</think>`. Held back is only what may be one of them.
 */
export class ThinkTags {
  #stage: 'start' | 'thinking' | 'behind' | 'text' = 'start';
  #held = '';
  #hasThought = false;

  /** The same, with the reasoning where reasoning belongs. */
  read(said: Said): Said {
    if (this.#stage === 'text') return said;
    // A server that names reasoning has nothing of it in its content.
    if (this.#stage === 'start' && said.reasoning.text !== '') return this.#plain(said);
    if (said.content === '') return said.calls.length > 0 ? this.#beforeCalls(said) : said;
    this.#held += said.content;
    if (this.#stage === 'start') {
      const text = this.#held.trimStart();
      if (!text.startsWith(OPEN)) return OPEN.startsWith(text) ? without(said) : this.#plain(without(said));
      this.#held = text.slice(OPEN.length);
      this.#stage = 'thinking';
    }
    return this.#stage === 'thinking' ? this.#think(said) : this.#behind(said, '');
  }

  /** What is held: nothing follows. */
  end(): Said {
    const [held, stage] = [this.#held, this.#stage];
    this.#held = '';
    this.#stage = 'text';
    const isThinking = stage === 'thinking';
    return {
      reasoning: { text: isThinking ? held : '', field: undefined, details: [] },
      content: isThinking || stage === 'behind' ? '' : held,
      calls: [],
    };
  }

  #think(said: Said): Said {
    if (!this.#hasThought) this.#held = this.#held.trimStart();
    this.#hasThought ||= this.#held !== '';
    const at = this.#held.indexOf(CLOSE);
    const to = at === -1 ? mayBegin(this.#held) : at;
    const reasoning = this.#held.slice(0, to);
    this.#held = at === -1 ? this.#held.slice(to) : this.#held.slice(at + CLOSE.length);
    if (at === -1) return without(said, reasoning);
    this.#stage = 'behind';
    return this.#behind(said, reasoning);
  }

  /** Empty lines between the reasoning and the answer are none of either. */
  #behind(said: Said, reasoning: string): Said {
    const content = this.#held.trimStart();
    this.#held = '';
    if (content !== '') this.#stage = 'text';
    return { ...without(said, reasoning), content };
  }

  #beforeCalls({ reasoning, calls }: Said): Said {
    const held = this.end();
    return { ...held, reasoning: held.reasoning.text === '' ? reasoning : held.reasoning, calls };
  }

  #plain(said: Said): Said {
    const content = this.#held + said.content;
    this.#held = '';
    this.#stage = 'text';
    return { ...said, content };
  }
}

function without(said: Said, text = said.reasoning.text): Said {
  return { ...said, content: '', reasoning: { ...said.reasoning, text } };
}

/** Where the longest end of a text begins that `</think>` may begin with; its length when there is none. */
function mayBegin(text: string): number {
  for (let at = Math.max(0, text.length - CLOSE.length + 1); at < text.length; at++) {
    if (CLOSE.startsWith(text.slice(at))) return at;
  }
  return text.length;
}
