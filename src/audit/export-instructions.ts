/** The first lines of an export, for the auditor [audit §7]: its content, how to verify it, and what verification cannot show. */
export const exportInstructions: readonly string[] = [
  'This file is the audit trail of a Setpoint site: who asked for what, when, and how it ended. It is JSON Lines, one object a line, described in docs/formats/audit.md.',
  'Check it with "setpoint audit verify --file FILE --key KEY". Get KEY from the site separately ("setpoint audit key" prints it there): the author of this file may also have written the key in it, and this text.',
  'With "--anchor FILE" the check compares a checkpoint, a note or a proof that you kept yourself. With "--witness VKEY" the newest head in the file must be cosigned by that witness. Only these two detect that someone with the key of the site rewrote or cut the log.',
  'Without the program: "hash" of an event is the SHA-256 of its canonical text (docs/formats/audit.md), which holds the hash of the event before it as "previous"; "detailsDigest" is the SHA-256 of "details". The hashes are the entries of a Merkle tree (RFC 6962; docs/contract/audit.md, section 9), whose root is signed in the checkpoints of the "chain" lines (C2SP signed notes).',
  'Events after the newest checkpoint are chained to those before them but not signed yet. Events up to the newest mark may have been removed by retention; the hashes that the tree needs of them are in the "leaves" lines.',
];
