/** The fenced blocks of a Markdown file, in order. */
import { readFileSync } from 'node:fs';

export interface Block {
  /** The words after the fence: language first. */
  readonly info: readonly string[];
  readonly text: string;
  /** Of the opening fence, from 1. */
  readonly line: number;
}

export function codeBlocks(file: string): Block[] {
  const blocks: Block[] = [];
  let open: { readonly info: readonly string[]; readonly line: number; readonly lines: string[] } | undefined;
  readFileSync(file, 'utf8')
    .split('\n')
    .forEach((text, index) => {
      if (!text.startsWith('```')) open?.lines.push(text);
      else if (open === undefined) open = { info: text.slice(3).trim().split(/\s+/), line: index + 1, lines: [] };
      else {
        blocks.push({ info: open.info, text: open.lines.join('\n'), line: open.line });
        open = undefined;
      }
    });
  if (open !== undefined) throw new Error(`${file}:${open.line} the block is not closed`);
  return blocks;
}
