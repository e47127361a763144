import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A campaign starts with every so many files, so that its waiting and their computing overlap. */
const filesPerCampaign = 4;

/**
 * Starts the campaigns early. Without durations of an earlier run, as in CI, vitest begins with the largest files, and those of campaigns
 * are the smallest: the last of them would wait for the processes that it has killed when all else is done.
 */
export class CampaignSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return campaignsEarly(await super.sort(files));
  }
}

/** The same files in the same order, but for the campaigns among them. */
export function campaignsEarly<T extends { readonly moduleId: string }>(files: readonly T[]): T[] {
  const campaigns = files.filter(isCampaign);
  const others = files.filter((file) => !isCampaign(file));
  const early = others.flatMap((file, nth) => {
    const campaign = nth % filesPerCampaign === 0 ? campaigns.shift() : undefined;
    return campaign === undefined ? [file] : [campaign, file];
  });
  return [...early, ...campaigns];
}

function isCampaign({ moduleId }: { readonly moduleId: string }): boolean {
  return moduleId.endsWith('.campaign.test.ts');
}
