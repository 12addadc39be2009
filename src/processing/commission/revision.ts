/**
 * A revision always means the same content [data-processing §2.3]: the digest of every declaration at
 * a start is stored, and a changed content under the same revision stops the next start.
 */
import { canonicalJson } from '../../base/canonical-json.ts';
import { sha256Hex } from '../../base/digest.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import type { Placed } from '../../contract/task/read.ts';

/** Persistent digests. Keys are `<id> <revision>`. */
export interface KeptDigests {
  read(): ReadonlyMap<string, string>;
  /** Replaces the stored digests; durable when it returns. */
  write(digests: ReadonlyMap<string, string>): void;
}

/** Content only: comments, layout, key order and spelled-out defaults do not change it. */
function declarationDigest(task: TaskDeclaration): string {
  return `sha256:${sha256Hex(canonicalJson(task))}`;
}

/** The errors, as `file:line: reason`; without errors, the digests of new revisions are stored. */
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
