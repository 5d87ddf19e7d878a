import type { Course } from './course.ts'

const courses: Readonly<Record<string, Course>> = {
  EAI_AGAIN: 'wait',
  ECONNABORTED: 'wait',
  ECONNREFUSED: 'wait',
  ECONNRESET: 'wait',
  EHOSTDOWN: 'wait',
  EHOSTUNREACH: 'wait',
  ENETDOWN: 'wait',
  ENETRESET: 'wait',
  ENETUNREACH: 'wait',
  ENOTCONN: 'wait',
  ENOTFOUND: 'wait',
  EPIPE: 'wait',
  ETIMEDOUT: 'wait',
  // The machine has no more of something.
  EDQUOT: 'wait',
  EMFILE: 'wait',
  ENFILE: 'wait',
  ENOBUFS: 'wait',
  ENOMEM: 'wait',
  ENOSPC: 'wait',
  // Of undici, which is Node's fetch.
  UND_ERR_CONNECT_TIMEOUT: 'wait',
  UND_ERR_SOCKET: 'wait',
  UND_ERR_HEADERS_TIMEOUT: 'retry',
  UND_ERR_BODY_TIMEOUT: 'retry',
  // Of mysql2.
  PROTOCOL_CONNECTION_LOST: 'wait',
  POOL_CLOSED: 'wait',
  HANDSHAKE_SSL_ERROR: 'wait',
}

/** Errors of the network and of the machine. */
export function ofSystem(error: object): Course | undefined {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && Object.hasOwn(courses, code) ? courses[code] : undefined
}
