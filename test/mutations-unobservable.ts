/**
 * Mistakes that `mutations-run.ts` leaves out because they change nothing that can be observed. An entry whose line or
 * operator is no longer there makes the run fail.
 */
export const UNOBSERVABLE: readonly { file: string; line: string; operator: string; reason: string }[] = []
