/** What a task or chat needs of the platform, as Cloudflare bills it. `test/tasks/rows.test.ts` counts the same from outside. */

/** Counts for one task or chat. What several share is shared out, so they are not all whole numbers. */
export interface Operations {
  d1Rows: number;
  d1Calls: number;
  /** Keys put or deleted in objects. */
  objectRows: number;
  /** `setAlarm`: a row each. */
  alarmRows: number;
  objectCalls: number;
  /** Alarms that woke an object. */
  alarms: number;
  messages: number;
  /** R2: files written, lists. */
  classA: number;
  /** R2: files read. */
  classB: number;
  logLines: number;
}

export const rows = ({ d1Rows, objectRows, alarmRows }: Operations) => d1Rows + objectRows + alarmRows;
