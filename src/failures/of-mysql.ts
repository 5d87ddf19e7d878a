import type { Course } from './course.ts'

// What its SQLSTATE does not say, as that is HY000, or one of a class that means something else.
const courses: Readonly<Record<string, Course>> = {
  ER_CON_COUNT_ERROR: 'wait',
  ER_TOO_MANY_USER_CONNECTIONS: 'wait',
  ER_USER_LIMIT_REACHED: 'wait',
  ER_SERVER_SHUTDOWN: 'wait',
  ER_NORMAL_SHUTDOWN: 'wait',
  ER_DISK_FULL: 'wait',
  ER_RECORD_FILE_FULL: 'wait',
  ER_OUTOFMEMORY: 'wait',
  ER_OUT_OF_RESOURCES: 'wait',
  ER_OPTION_PREVENTS_STATEMENT: 'wait', // read-only
  ER_READ_ONLY_MODE: 'wait',
  ER_ACCESS_DENIED_ERROR: 'wait',
  ER_DBACCESS_DENIED_ERROR: 'wait',
  ER_TABLEACCESS_DENIED_ERROR: 'wait',
  ER_LOCK_WAIT_TIMEOUT: 'retry',
  ER_LOCK_DEADLOCK: 'retry',
  ER_QUERY_TIMEOUT: 'retry',
  ER_STATEMENT_TIMEOUT: 'retry',
  ER_DUP_ENTRY: 'retry',
  ER_NO_REFERENCED_ROW_2: 'retry',
  ER_ROW_IS_REFERENCED_2: 'retry',
  ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: 'dead-letter',
  ER_NO_DEFAULT_FOR_FIELD: 'dead-letter',
  ER_CONSTRAINT_FAILED: 'dead-letter',
  ER_CHECK_CONSTRAINT_VIOLATED: 'dead-letter',
  ER_NET_PACKET_TOO_LARGE: 'dead-letter',
}

/** Errors of MySQL and MariaDB that their names tell better than their SQLSTATE. */
export function ofMysql(error: object): Course | undefined {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' ? courses[code] : undefined
}
