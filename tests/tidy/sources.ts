/** The tracked text of the repository, read once for the tidy tests. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const binary = /\.(png|svg|gz|ico|woff2?|csv|lock)$/;

/** Every text file that git tracks or would track, except the lock file. */
export function repositoryFiles(): SourceFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
  return listed
    .split('\n')
    .filter((path) => path !== '' && !binary.test(path) && path !== 'package-lock.json' && existsSync(path))
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

/** The product's own TypeScript, including the console, without tests. */
export function productFiles(): SourceFile[] {
  return repositoryFiles().filter(
    (file) => /^(src|console\/src)\/.*\.tsx?$/.test(file.path) && !file.path.endsWith('.test.ts'),
  );
}
