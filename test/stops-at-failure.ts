/** For services whose partitions stop in front of a message that fails, as `deadLetter: false` has it. */
export const stopsAtFailure = { deadLetter: false, retry: { attempts: 1 } } as const
