import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** The output of esbuild for a module and all its imports, for a page. */
export interface Bundle {
  readonly text: string;
  /** Bytes after compression, as a web server would send them. */
  readonly gzip: number;
  /** Every file that contributes to it, as a path from this folder, with its bytes in `text`. */
  readonly parts: ReadonlyMap<string, number>;
  /** The imports that are left in it. */
  readonly imports: readonly string[];
}

/**
 * Bundles a module of this folder with the packages as published, from `dist`, unless a condition resolves elsewhere.
 */
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
