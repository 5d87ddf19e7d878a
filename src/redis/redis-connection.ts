/** As much of a client of `@redis/client` as the helpers use. It is yours: they neither open nor close it. */
export interface RedisConnection {
  sendCommand(command: string[]): Promise<unknown>
}
