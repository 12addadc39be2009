/** Limits of a flow document [rules §4.4]. Counts unless the name says otherwise. */
export interface FlowLimits {
  readonly nodesMaximum: number;
  /** JSON text of one node, in UTF-8 bytes. */
  readonly nodeBytesMaximum: number;
  /** Nodes on the longest path. */
  readonly depthMaximum: number;
  /** Entries per list: variables, branches, assignments, writes. */
  readonly listMaximum: number;
  /** Targets per output. */
  readonly fanOutMaximum: number;
  /** Characters of a variable's or branch's name. */
  readonly nameLengthMaximum: number;
  /** Total number of samples in the windows (`moving_avg`) of a rule. */
  readonly windowSamplesMaximum: number;
  /** Issues per answer: a document of 1 MiB could have 100 000. */
  readonly issuesMaximum: number;
}

export const flowLimits: FlowLimits = {
  nodesMaximum: 200,
  nodeBytesMaximum: 65_536,
  depthMaximum: 200,
  listMaximum: 256,
  fanOutMaximum: 200,
  nameLengthMaximum: 128,
  windowSamplesMaximum: 20_000,
  issuesMaximum: 1000,
};

/**
 * Limits of a topology that was derived from a document within the limits above. It contains what the document
 * implies: the type of each written point, one formula for each combined variable and each rule of a block.
 */
export const storedFlowLimits: FlowLimits = {
  ...flowLimits,
  nodeBytesMaximum: 2 * flowLimits.nodeBytesMaximum,
  listMaximum: 2 * flowLimits.listMaximum,
  // Stored rules run, whatever the current limit.
  windowSamplesMaximum: Number.POSITIVE_INFINITY,
};

/** Limits of a trigger [rules §3.1]. */
export const triggerLimits = { intervalMsMaximum: 86_400_000, pointsMaximum: 64 } as const;
