import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** What esbuild makes of a module and all that it imports, for a page. */
export interface Bundle {
  readonly text: string;
  /** Bytes, packed as a web server would. */
  readonly gzip: number;
  /** Every file that something of is in it, as a path from this folder, with its bytes in `text`. */
  readonly parts: ReadonlyMap<string, number>;
  /** What it still imports. */
  readonly imports: readonly string[];
}

/** Bundles a module of this folder: the packages as they are published, from their `dist` folders, unless a condition leads elsewhere. */
export async function bundle(
  module: { readonly path: string } | { readonly text: string },
  { external = [], conditions = ['module'] }: { readonly external?: string[]; readonly conditions?: string[] } = {},
): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...('path' in module
      ? { entryPoints: [module.path] }
      : { stdin: { contents: module.text, resolveDir: import.meta.dirname } }),
    absWorkingDir: import.meta.dirname,
    bundle: true,
    conditions,
    external,
    format: 'esm',
    legalComments: 'none',
    logLevel: 'silent',
    metafile: true,
    minify: true,
    outfile: 'bundle.js',
    platform: 'browser',
    target: 'es2022',
    write: false,
  });
  const [{ text, contents }] = outputFiles as [(typeof outputFiles)[number]];
  const [{ inputs, imports }] = Object.values(metafile.outputs) as [(typeof metafile.outputs)[string]];
  return {
    text,
    gzip: gzipSync(contents, { level: 9 }).length,
    parts: new Map(Object.entries(inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput])),
    imports: imports.map(({ path }) => path),
  };
}
