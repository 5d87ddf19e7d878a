import { randomBytes } from 'node:crypto'
import { type Catalogue, differences, readCatalogue } from './catalogue.ts'
import type { MigrationTarget } from './migrate.ts'
import { pendingSteps } from './migrate.ts'
import { migrations } from './migrations.ts'
import type { SqlConnection } from './sql.ts'

/** How the tables differ from what the migrations make, a sentence each. */
export async function verify(
  connection: SqlConnection,
  target: MigrationTarget,
): Promise<readonly string[]> {
  const pending = await pendingSteps(connection, target)
  if (pending.length > 0) {
    return pending.map(({ number, name }) => `Migration ${number} (${name}) has not been taken.`)
  }
  const found = await readCatalogue(connection, target.schema.slice(1, -1))
  return differences(await expectedCatalogue(connection), found)
}

/** What the migrations make, in a schema that is never there for others. */
async function expectedCatalogue(connection: SqlConnection): Promise<Catalogue> {
  const scratch = `pollux_verify_${randomBytes(6).toString('hex')}`
  const session = await connection.session()
  try {
    await session.run(`begin; create schema "${scratch}"`)
    for (const step of migrations) {
      for (const statement of step.statements(`"${scratch}"`)) await session.query(statement)
    }
    const catalogue = await readCatalogue(session, scratch)
    await session.run('rollback')
    session.release(false)
    return catalogue
  } catch (error) {
    session.release(true)
    throw error
  }
}
