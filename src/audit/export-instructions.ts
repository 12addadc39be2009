/** What an auditor reads first in an export [audit §7]: what the file is, how to check it, and what the check cannot show. */
export const exportInstructions: readonly string[] = [
  'This file is the audit trail of a Setpoint site: who asked for what, when, and how it ended. It is JSON Lines, one object a line, described in docs/formats/audit.md.',
  'Check it with "setpoint audit verify --file FILE --key KEY". Take KEY from the site on another way than this file ("setpoint audit key" prints it there): whoever wrote the file may have written the key in it, and this text.',
  'With "--anchor FILE" the check compares a checkpoint, a note or a proof that you kept yourself. With "--witness VKEY" the newest head in the file must be cosigned by that witness. Only these two show that nobody who has the key of the site rewrote the log or cut it.',
  'Without the program: "hash" of an event is the SHA-256 of its canonical text (docs/formats/audit.md), which holds the hash of the event before it as "previous"; "detailsDigest" is the SHA-256 of "details". The hashes are the entries of a Merkle tree (RFC 6962; docs/contract/audit.md, section 9), whose root is signed in the checkpoints of the "chain" lines (C2SP signed notes).',
  'Events behind the newest checkpoint are bound to those before them and signed by nobody yet. Events that retention removed are missing up to the newest mark; the hashes of them that the tree needs are in the "leaves" lines.',
];
