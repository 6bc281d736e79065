/** Native ESM (Nest 12 is ESM only), TypeScript compiled by swc; type checking is `npm run typecheck`. */
export default {
  testEnvironment: 'node',
  // The machine may be slow or busy; a time-out is for a test that hangs.
  testTimeout: 60_000,
  // Programs that were fetched have packages of their own in there.
  modulePathIgnorePatterns: ['<rootDir>/.cache/'],
  // Tests wait for processes of their own for much of their time: one worker a core, where Jest would leave one core free.
  maxWorkers: '100%',
  testMatch: ['<rootDir>/{apps,libs,test}/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^@turnpike/([^/]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          target: 'es2022',
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
};
