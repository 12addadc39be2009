/** Work that must not overlap: each piece starts when the previous one has ended, successfully or not. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

export function createTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result.catch(() => undefined);
    return result;
  };
}
