/// <reference lib="dom" />
/** How long the page is busy for one frame while a user works with it. */
import type { Page } from 'playwright-core';

/** Other work on the machine must not count: the best of several attempts does. */
export const attempts = 4;

export async function best(measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < attempts; count++) least = Math.min(least, await measure());
  return least;
}

/** The longest time for which the page was busy for one frame during `work`, in milliseconds. */
export async function frames(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate(() => {
    const seen = { longest: 0, stop: false };
    Object.assign(globalThis, { frameWatch: seen });
    // From the beginning of a frame to the task after its painting: the page's own share of it.
    const watch = (): void => {
      const begin = performance.now();
      const channel = new MessageChannel();
      channel.port1.start();
      channel.port1.addEventListener('message', () => {
        seen.longest = Math.max(seen.longest, performance.now() - begin);
        if (!seen.stop) requestAnimationFrame(watch);
      });
      channel.port2.postMessage(null);
    };
    requestAnimationFrame(watch);
  });
  await work();
  return page.evaluate(() => {
    const { frameWatch } = globalThis as unknown as { frameWatch: { longest: number; stop: boolean } };
    frameWatch.stop = true;
    return frameWatch.longest;
  });
}
