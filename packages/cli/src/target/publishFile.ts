import { nodeFileSystem, PartFile } from '@sluice/core/node';

/** Writes a file under a temporary name first, so that it is complete or absent. What a killed process left is of no use. */
export async function publishFile(path: string, text: string, ifExists: 'fail' | 'overwrite'): Promise<void> {
  const part = new PartFile(nodeFileSystem, path, ifExists);
  await part.create(true);
  try {
    await part.append(text);
    await part.flush();
    await part.publish();
  } catch (error) {
    await part.abandon(false);
    throw error;
  }
}
