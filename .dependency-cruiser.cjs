/** Dependencies point one way: protocol <- turns <- the other libs <- apps (docs/decisions/0001). */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'protocol-stands-alone',
      comment: 'The wire contract knows nothing of how it is served.',
      severity: 'error',
      from: { path: '^libs/protocol/' },
      to: { path: '^(libs/(?!protocol/)|apps/)' },
    },
    {
      name: 'turns-know-only-protocol',
      severity: 'error',
      from: { path: '^libs/turns/' },
      to: { path: '^(libs/(?!(turns|protocol)/)|apps/)' },
    },
    {
      name: 'formats-know-only-protocol',
      severity: 'error',
      from: { path: '^libs/formats/' },
      to: { path: '^(libs/(?!(formats|protocol)/)|apps/)' },
    },
    { name: 'libs-do-not-know-apps', severity: 'error', from: { path: '^libs/' }, to: { path: '^apps/' } },
    {
      name: 'apps-do-not-know-each-other',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'only-through-the-index',
      comment: 'A lib is imported by its name, never by a path into it.',
      severity: 'error',
      from: { path: '^(apps|libs)/([^/]+)/' },
      to: { path: '^libs/', pathNot: ['^libs/$2/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'core-is-framework-free',
      comment: 'No Nest and no sockets where turns are folded.',
      severity: 'error',
      from: { path: '^libs/(protocol|turns|conversation|background|formats|rendering|assembly)/' },
      to: { path: 'node_modules/(@nestjs|ws|undici|express)/' },
    },
    {
      name: 'no-test-code-in-production',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: '\\.test\\.ts$' },
      to: { path: '(\\.test\\.ts$|^test/)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
