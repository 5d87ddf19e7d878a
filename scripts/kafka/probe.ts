import { connect } from 'node:net'

/** What answers on a port. */
export type Answer =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'other' }
  /** A broker; `nodes` are the ids of the brokers that its cluster has ready for work. */
  | { readonly kind: 'kafka'; readonly nodes: readonly number[] }

/**
 * Asks for the cluster's metadata, as a client would. A broker that is starting already accepts connections,
 * but only brokers that are ready for work are in the answer.
 */
export function probe(port: number, limit = 2000): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: limit })
    let connected = false
    let received: Buffer = Buffer.alloc(0)
    const end = (answer: Answer): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('connect', () => {
      connected = true
      socket.write(metadataRequest())
    })
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return
      end(readNodes(received))
    })
    socket.on('timeout', () => end({ kind: connected ? 'other' : 'nothing' }))
    socket.on('error', () => end({ kind: connected ? 'other' : 'nothing' }))
    socket.on('close', () => end({ kind: connected ? 'other' : 'nothing' }))
  })
}

/** Metadata, version 4, of no topic. */
function metadataRequest(): Buffer {
  const client = Buffer.from('pollux-probe')
  const request = Buffer.alloc(4 + 2 + 2 + 4 + 2 + client.length + 4 + 1)
  let at = request.writeInt32BE(request.length - 4, 0)
  at = request.writeInt16BE(3, at)
  at = request.writeInt16BE(4, at)
  at = request.writeInt32BE(correlation, at)
  at = request.writeInt16BE(client.length, at)
  at += client.copy(request, at)
  request.writeInt32BE(0, at)
  return request
}

const correlation = 0x706f6c78

function readNodes(answer: Buffer): Answer {
  try {
    if (answer.readInt32BE(4) !== correlation) return { kind: 'other' }
    const count = answer.readInt32BE(12)
    const nodes: number[] = []
    let at = 16
    for (let index = 0; index < count; index++) {
      nodes.push(answer.readInt32BE(at))
      at += 4
      at += 2 + answer.readInt16BE(at) + 4
      at += 2 + Math.max(0, answer.readInt16BE(at))
    }
    return { kind: 'kafka', nodes: nodes.toSorted((a, b) => a - b) }
  } catch {
    return { kind: 'other' }
  }
}
