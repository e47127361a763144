// npm run docs: the API reference, out of the docstrings, into docs/api. A broken link, or a public name without a docstring, fails it.
import { join } from 'node:path';

import { packages } from '../scripts/packages.mjs';
import { root } from '../scripts/run.mjs';

/** The sources of all that the packages export. */
const entryPoints = packages.flatMap(({ folder, manifest }) =>
  Object.values(manifest.exports)
    .map((target) => target['@sluice/source'])
    .filter((source) => source !== undefined)
    .map((source) => join(folder, source)),
);

export default {
  name: 'Sluice',
  entryPoints,
  tsconfig: join(root, 'tsconfig.json'),
  out: join(root, 'docs/api'),
  readme: 'none',
  disableGit: true,
  basePath: root,
  sourceLinkTemplate: '../../../packages/{path}',
  // Types are checked by `npm run typecheck`.
  skipErrorChecking: true,
  // What RxJS and Node say of their own classes stands in their own references.
  excludeExternals: true,
  excludePrivate: true,
  sort: ['source-order'],
  packagesRequiringDocumentation: packages.map(({ name }) => name),
  requiredToBeDocumented: ['Module', 'Class', 'Interface', 'TypeAlias', 'Function', 'Variable'],
  validation: { notExported: true, invalidLink: true, rewrittenLink: true, notDocumented: true },
  treatValidationWarningsAsErrors: true,
  treatWarningsAsErrors: true,
};
