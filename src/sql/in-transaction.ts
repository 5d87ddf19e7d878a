import type { Sql, SqlConnection, SqlSession } from './sql.ts'

/** Commits when `work` resolves, rolls back and rejects when it rejects. READ COMMITTED, unless another mode is given. */
export async function inTransaction<Result>(
  connection: SqlConnection,
  work: (sql: Sql) => Promise<Result>,
  mode: 'read committed' | 'repeatable read read only' = 'read committed',
): Promise<Result> {
  const session = await connection.session()
  let isBroken = true
  try {
    await session.run(`begin isolation level ${mode}`)
    const result = await work(session)
    await session.run('commit')
    isBroken = false
    return result
  } catch (error) {
    isBroken = !(await isRolledBack(session))
    throw error
  } finally {
    session.release(isBroken)
  }
}

async function isRolledBack(session: SqlSession): Promise<boolean> {
  try {
    await session.run('rollback')
    return true
  } catch {
    return false
  }
}
