import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** A raw write costs a system call, is not counted, and nothing waits for a slow reader. */
const rawSocketWrite = {
  selector: "CallExpression[callee.property.name='send'][callee.object.property.name=/^#?(client|socket)$/]",
  message: 'Write through Outbox: a raw send bypasses corking, back pressure and byte accounting.',
};

/** A guard that one way to the engine forgets is no guard: it happened to most gateways that have one. */
const uncleared = [
  {
    selector:
      "VariableDeclarator[init.arguments.1.name='Routing'] > ObjectPattern > Property[key.name='engine']",
    message:
      'Take the engine from ClearedEngine.of(artifacts, safety): it is called with a verdict or not at all.',
  },
  {
    selector: "MemberExpression[property.name='engine'][object.callee.name='artifactOf']",
    message:
      'Take the engine from ClearedEngine.of(artifacts, safety): it is called with a verdict or not at all.',
  },
];

const nodeGlobals = Object.fromEntries(
  [
    'module',
    'process',
    'console',
    'URL',
    'Buffer',
    'performance',
    'setInterval',
    'setTimeout',
    'clearTimeout',
    'clearInterval',
    'fetch',
  ].map((name) => [name, 'readonly']),
);

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'data/**', '.cache/**'] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['*.mjs', '.*.cjs', 'scripts/*.mjs'] } },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      eqeqeq: ['error', 'always'],
      'no-console': 'error',
      'no-restricted-syntax': ['error', rawSocketWrite, ...uncleared],
    },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: nodeGlobals },
    rules: { 'no-console': 'off' },
  },
  {
    files: ['apps/gateway/src/websocket/outbox.ts'],
    rules: { 'no-restricted-syntax': ['error', ...uncleared] },
  },
  {
    files: ['test/**', '**/*.test.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['apps/gateway/src/turn/cleared-engine.ts'],
    rules: { 'no-restricted-syntax': ['error', rawSocketWrite] },
  },
  {
    files: ['test/**/*.ts', '**/*.test.ts'],
    rules: { 'no-console': 'off', '@typescript-eslint/no-floating-promises': 'error' },
  },
);
