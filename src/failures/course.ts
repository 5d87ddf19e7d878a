/**
 * What is done about an error. `wait`: the surroundings are in trouble, so it is no message's fault; it costs no attempt
 * and never makes a dead letter. `retry`: it may work another time, within the policy. `dead-letter`: it never works,
 * whatever is waited for. `stop`: something is set up wrong, for all messages alike, and a person has to mend it.
 */
export type Course = 'wait' | 'retry' | 'dead-letter' | 'stop'
