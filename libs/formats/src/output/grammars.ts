import { JsonCalls } from './json-calls.js';
import { LiteralCalls, type LiteralCallOptions } from './literal-calls.js';
import { NamedCall, type NamedCallOptions } from './named-calls.js';
import { TaggedCalls, type TagSyntax } from './tagged-calls.js';
import { type CallSyntax, type TurnGrammar } from './turn-grammar.js';

/** Objects with a name and arguments between two markers. */
function jsonCalls(open: string, close?: string): CallSyntax {
  return {
    open,
    close,
    markers: close === undefined ? [] : [close],
    reader: (context, from) => new JsonCalls(context, from, { close }),
  };
}

/** A name and its arguments. */
function namedCall(open: string, options: NamedCallOptions): CallSyntax {
  const { separator, id, close } = options;
  return {
    open,
    close,
    markers: [separator, id, close].filter((marker) => marker !== undefined),
    reader: (context, from) => new NamedCall(context, from, options),
  };
}

/** @param begun whether `open` is what begins each call, with no block around them */
function taggedCalls(open: string, syntax: TagSyntax, begun = false): CallSyntax {
  const { callOpen, nameEnd, callClose, keyOpen, keyEnd, valueOpen, valueEnd, close } = syntax;
  const markers = [callOpen, nameEnd, callClose, keyOpen, keyEnd, valueOpen, valueEnd, close];
  return {
    open,
    close,
    // What ends a name or a key may be any text; control tokens among the rest are known by their id.
    markers: markers.filter((marker) => marker !== undefined),
    reader: (context, from) => new TaggedCalls(context, from, syntax, begun),
  };
}

/** A name and literals in brackets. */
function literalCalls(open: string, options: LiteralCallOptions): CallSyntax {
  const { quote, close } = options;
  return {
    open,
    close,
    markers: quote === undefined ? [close] : [quote, close],
    reader: (context, from) => new LiteralCalls(context, from, options),
  };
}

const THINK = { open: '<think>', close: '</think>' };
const CHATML = { header: { open: ['<|im_start|>'], end: '\n' }, ends: ['<|im_end|>', '<|endoftext|>'] };

/** ChatML with the tools of Hermes: Qwen 2.5 and 3, Hermes, Granite, SmolLM. */
export const hermesGrammar: TurnGrammar = {
  ...CHATML,
  reasoning: THINK,
  calls: [jsonCalls('<tool_call>', '</tool_call>')],
};

const FUNCTION_TAGS = {
  callOpen: '<function=',
  nameEnd: '>',
  callClose: '</function>',
  keyOpen: '<parameter=',
  keyEnd: '>',
  valueEnd: '</parameter>',
  ownLines: true,
} satisfies TagSyntax;

/** ChatML with tools in tags: Qwen3-Coder, Qwen3.5, Nemotron 3, Step 3.5. The marker around a call is often left out. */
export const qwenCoderGrammar: TurnGrammar = {
  ...CHATML,
  reasoning: THINK,
  calls: [
    taggedCalls('<tool_call>', { ...FUNCTION_TAGS, close: '</tool_call>' }),
    taggedCalls('<function=', FUNCTION_TAGS, true),
  ],
};

/** Llama 3: a call is an object and nothing else, or stands behind `<|python_tag|>`. */
export const llama3Grammar: TurnGrammar = {
  header: { open: ['<|start_header_id|>'], end: '<|end_header_id|>' },
  calls: [jsonCalls('<|python_tag|>')],
  ends: ['<|eot_id|>', '<|eom_id|>', '<|end_of_text|>'],
  bareCalls: true,
};

/** Mistral: `[TOOL_CALLS]NAME[ARGS]{...}`, with `[CALL_ID]` before the arguments or without, or a list of objects. */
export const mistralGrammar: TurnGrammar = {
  reasoning: { open: '[THINK]', close: '[/THINK]' },
  calls: [namedCall('[TOOL_CALLS]', { separator: '[ARGS]', id: '[CALL_ID]' })],
  ends: ['</s>'],
};

const DEEPSEEK_END = '<｜end▁of▁sentence｜>';

/** DeepSeek V3.1, and V3 and R1, which write `function` and then the name, and the arguments as a block of code. */
export const deepseekGrammar: TurnGrammar = {
  reasoning: THINK,
  sections: ['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>'],
  calls: [
    namedCall('<｜tool▁call▁begin｜>', {
      separator: '<｜tool▁sep｜>',
      close: '<｜tool▁call▁end｜>',
      label: 'function',
    }),
  ],
  ends: [DEEPSEEK_END],
};

function dsml(block: string): CallSyntax {
  return taggedCalls(`<｜DSML｜${block}>`, {
    callOpen: '<｜DSML｜invoke name="',
    nameEnd: '">',
    callClose: '</｜DSML｜invoke>',
    keyOpen: '<｜DSML｜parameter name="',
    keyEnd: '">',
    valueEnd: '</｜DSML｜parameter>',
    close: `</｜DSML｜${block}>`,
    keyOf: (written) => {
      const [, key = written, text] = /^(.*)" string="(true|false)$/s.exec(written) ?? [];
      return text === undefined ? { key } : { key, written: text === 'true' ? 'string' : 'json' };
    },
  });
}

/** DeepSeek V3.2 and V4. */
export const dsmlGrammar: TurnGrammar = {
  reasoning: THINK,
  calls: [dsml('function_calls'), dsml('tool_calls')],
  ends: [DEEPSEEK_END],
};

/** GLM 4.5 to 4.7. */
export const glmGrammar: TurnGrammar = {
  reasoning: THINK,
  calls: [
    taggedCalls('<tool_call>', {
      keyOpen: '<arg_key>',
      keyEnd: '</arg_key>',
      valueOpen: '<arg_value>',
      valueEnd: '</arg_value>',
      close: '</tool_call>',
    }),
  ],
  ends: ['<|user|>', '<|observation|>', '<|endoftext|>'],
};

/** Kimi K2. It sometimes writes the marks around its calls in the singular, for which there are no control tokens. */
export const kimiGrammar: TurnGrammar = {
  header: { open: ['<|im_assistant|>'], end: '<|im_middle|>' },
  reasoning: THINK,
  sections: [
    '<|tool_calls_section_begin|>',
    '<|tool_calls_section_end|>',
    '<|tool_call_section_begin|>',
    '<|tool_call_section_end|>',
  ],
  calls: [
    namedCall('<|tool_call_begin|>', {
      separator: '<|tool_call_argument_begin|>',
      close: '<|tool_call_end|>',
      nameOf: (written) => written.replace(/^functions\./, '').replace(/:\d+$/, ''),
    }),
  ],
  ends: ['<|im_end|>', '[EOS]'],
};

/** MiniMax M2. */
export const minimaxGrammar: TurnGrammar = {
  header: { open: [']~b]'], end: '\n' },
  reasoning: THINK,
  calls: [
    taggedCalls('<minimax:tool_call>', {
      callOpen: '<invoke name="',
      nameEnd: '">',
      callClose: '</invoke>',
      keyOpen: '<parameter name="',
      keyEnd: '">',
      valueEnd: '</parameter>',
      close: '</minimax:tool_call>',
    }),
  ],
  ends: ['[e~['],
};

/** Command A and R of Cohere. */
export const cohereGrammar: TurnGrammar = {
  header: { open: ['<|START_OF_TURN_TOKEN|>'], end: '<|CHATBOT_TOKEN|>' },
  reasoning: { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
  sections: ['<|START_RESPONSE|>', '<|END_RESPONSE|>', '<|START_TEXT|>', '<|END_TEXT|>'],
  calls: [jsonCalls('<|START_ACTION|>', '<|END_ACTION|>')],
  ends: ['<|END_OF_TURN_TOKEN|>'],
};

/** Gemma 4. What stands in the channel of its thoughts begins with the name of the channel. */
export const gemmaGrammar: TurnGrammar = {
  header: { open: ['<|turn>', '<start_of_turn>'], end: '\n' },
  reasoning: { open: '<|channel>', close: '<channel|>', labelled: true },
  calls: [
    literalCalls('<|tool_call>', { prefix: 'call:', bracket: '{', quote: '<|"|>', close: '<tool_call|>' }),
  ],
  ends: ['<turn|>', '<end_of_turn>', '<|tool_response>', '<eos>'],
};

/** LFM 2. */
export const lfmGrammar: TurnGrammar = {
  ...CHATML,
  reasoning: THINK,
  calls: [literalCalls('<|tool_call_start|>', { bracket: '(', close: '<|tool_call_end|>' })],
};
