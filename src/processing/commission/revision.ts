/**
 * A revision means one content for ever [data-processing §2.3]: the digest of every declaration that
 * a start has seen is kept, and the same revision with changed content stops the next start.
 */
import { canonicalJson } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import type { Placed } from '../../contract/task/read.ts';

/** Where digests outlive the process. Keys are `<id> <revision>`. */
export interface KeptDigests {
  read(): ReadonlyMap<string, string>;
  /** Replaces what is kept, durably, before it returns. */
  write(digests: ReadonlyMap<string, string>): void;
}

/** Content only: comments, layout, key order and spelled-out defaults do not change it. */
function declarationDigest(task: TaskDeclaration): string {
  return `sha256:${sha256Hex(canonicalJson(task))}`;
}

/** The faults, as `file:line: reason`; when there are none, the digests of new revisions are kept. */
export function holdRevisions(tasks: readonly Placed<TaskDeclaration>[], kept: KeptDigests): string[] {
  const before = kept.read();
  const after = new Map(before);
  const faults: string[] = [];
  for (const task of tasks) {
    const { id, revision } = task.value;
    const key = `${id} ${revision}`;
    const digest = declarationDigest(task.value);
    const known = before.get(key);
    if (known !== undefined && known !== digest)
      faults.push(task.at('/revision', `the content of revision ${revision} has changed; give it a new revision`));
    after.set(key, digest);
  }
  if (faults.length === 0 && after.size > before.size) kept.write(after);
  return faults;
}
