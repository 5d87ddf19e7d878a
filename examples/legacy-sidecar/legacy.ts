// The shop's own program: it knows its table, and nothing of topics.
import { readFile } from 'node:fs/promises'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'

/** The shop, installed in a database of its own. */
export class Shop implements AsyncDisposable {
  readonly #connection: Connection

  private constructor(connection: Connection) {
    this.#connection = connection
  }

  /** @param address of a database, which has to be there and empty */
  static async install(address: string): Promise<Shop> {
    const connection = await createConnection({ uri: address, multipleStatements: true })
    await connection.query(await readFile(new URL('legacy.sql', import.meta.url), 'utf8'))
    return new Shop(connection)
  }

  /** The report that is printed each night. */
  async priceList(): Promise<readonly string[]> {
    return (await this.#rows('select ZEILE from V_PREISLISTE')).map(({ ZEILE }) => String(ZEILE))
  }

  /** What its triggers have noted of prices: `article: before → after`. */
  async priceLog(): Promise<readonly string[]> {
    const rows = await this.#rows('select * from T_PREISPROTOKOLL order by LFD_NR')
    return rows.map(
      ({ ART_NR, ALT_PREIS, NEU_PREIS }) => `${ART_NR}: ${ALT_PREIS ?? '-'} → ${NEU_PREIS ?? '-'}`,
    )
  }

  async takeDelivery(article: string, pieces: number): Promise<void> {
    await this.#connection.execute('update T_ARTIKEL set BESTAND = BESTAND + ? where ART_NR = ?', [
      pieces,
      article,
    ])
  }

  async #rows(query: string): Promise<readonly RowDataPacket[]> {
    const [rows] = await this.#connection.query<RowDataPacket[]>(query)
    return rows
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.end()
  }
}
