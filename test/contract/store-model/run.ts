import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { LedgerChange, LedgerRow, Store, Unit } from '../../../src/ports/store.ts'
import { type Age, forgetAll, hour } from '../../../src/testing/store-contract/aging.ts'
import { record, StoreProbe } from '../../../src/testing/store-contract/store-probe.ts'
import { Model, type ModelChange, type ModelUnit } from './model.ts'
import { ids, keys, partitions, type Step, type StepOf, topic } from './steps.ts'

/** Two stores on the same data, and what makes that data older. */
export interface Stores {
  readonly owners: readonly [Store, Store]
  readonly age: Age
}

/** What one owner knows, right or out of date. */
class Knowledge {
  readonly versions = new Map<number, number>()
  readonly rows = new Map<number, LedgerRow>()
  last: { readonly unit: Unit; readonly model: ModelUnit } | undefined
}

/** One sequence of steps, on the stores and on the model. */
export class Run {
  /** What the steps came to, so that one can see whether all was tried. */
  readonly seen: string[] = []
  readonly #owners: readonly [Store, Store]
  readonly #age: Age
  readonly #service = randomUUID()
  readonly #model = new Model()
  readonly #knowledge = [new Knowledge(), new Knowledge()] as const
  readonly #highest = new Map<number, number>()

  constructor({ owners, age }: Stores) {
    this.#owners = owners
    this.#age = age
  }

  async do(step: Step): Promise<void> {
    if (step.do === 'acquire') await this.#acquire(step)
    else if (step.do === 'load') await this.#load(step)
    else if (step.do === 'commit') await this.#commit(step)
    else if (step.do === 'repeat') await this.#repeat(step)
    else if (step.do === 'acknowledge') await this.#acknowledge(step)
    else if (step.do === 'wait') await this.#wait(step)
    else if (step.do === 'unpublished') await this.#unpublished(step)
    else await this.#forget(step)
  }

  /** Compares all there is, also what no step has looked at. */
  async end(): Promise<void> {
    await this.#load({ do: 'load', owner: 0, keys: places(keys), ids: places(ids) })
    await this.#unpublished({ do: 'unpublished', owner: 1, age: 0.5 })
    await this.#acquire({ do: 'acquire', owner: 1, partitions })
  }

  async #acquire({ owner, partitions }: StepOf<'acquire'>): Promise<void> {
    const rows = await this.#owners[owner].acquire(
      this.#service,
      partitions.map((partition) => ({ topic, partition, topicId: 'id' })),
    )
    assert.equal(rows.length, partitions.length)
    for (const [index, partition] of partitions.entries()) {
      const { epoch, ...row } = rows[index] as LedgerRow
      const { epoch: before, outputs, ...expected } = this.#model.row(partition)
      assert.ok(epoch > before, 'the epoch is higher')
      const unpublished = outputs.map(({ unit, values }) => ({
        unit,
        records: values.map((value) => record(value)),
      }))
      assert.deepEqual(row, { topic, partition, topicId: 'id', ...expected, unpublished })
      this.#model.acquired(partition, epoch)
      this.#knowledge[owner].rows.set(partition, rows[index] as LedgerRow)
      if (unpublished.length > 1) this.seen.push('several outputs')
    }
  }

  async #load({ owner, keys: wanted, ids: asked }: StepOf<'load'>): Promise<void> {
    const { states, applied } = await this.#owners[owner].load(
      this.#service,
      wanted.map((key) => keys[key] as Buffer),
      asked.map((id) => ({ topic, id: ids[id] as Buffer })),
    )
    assert.deepEqual(
      states.map((row) => ({ ...row, value: row.value?.toString() ?? null })),
      wanted.map((key) => this.#model.states.get(key) ?? { value: null, guard: null, version: 0 }),
    )
    assert.deepEqual(
      applied,
      asked.map((id) => this.#model.marks.has(id)),
    )
    for (const [index, key] of wanted.entries()) {
      this.#knowledge[owner].versions.set(key, states[index]?.version as number)
    }
  }

  async #commit(step: StepOf<'commit'>): Promise<void> {
    const known = this.#knowledge[step.owner]
    const model = modelUnit(step, known)
    const unit: Unit = {
      service: this.#service,
      marks: model.applied.map((mark) => ({ ...mark, topic, id: ids[mark.id] as Buffer })),
      states: model.writes.map(({ key, value, guard, version }) => ({
        key: keys[key] as Buffer,
        value: value === null ? null : Buffer.from(value),
        version,
        guard,
      })),
      ledger: model.changes.map(({ values, ...change }): LedgerChange => {
        return { ...change, topic, outputs: values.map((value) => record(value)) }
      }),
    }
    known.last = { unit, model }
    const result = await this.#owners[step.owner].commit(unit)
    const expected = this.#model.expected(model)
    this.seen.push(expected)
    assert.equal(result.outcome, expected)
    if (result.outcome === 'committed') this.#committed(known, model, result.versions)
  }

  #committed(known: Knowledge, unit: ModelUnit, versions: readonly number[]): void {
    this.#model.committed(unit, versions)
    assert.equal(versions.length, unit.writes.length)
    for (const [index, { key, value, guard }] of unit.writes.entries()) {
      const version = versions[index] as number
      known.versions.set(key, version)
      if (value === null && guard === null) {
        assert.equal(version, 0)
      } else {
        assert.ok(version > (this.#highest.get(key) ?? 0), 'a version is never seen twice')
        this.#highest.set(key, version)
      }
    }
    for (const { partition } of unit.changes) {
      const row = known.rows.get(partition) as LedgerRow
      known.rows.set(partition, { ...row, unit: row.unit + 1 })
    }
  }

  /** As after a lost answer. Only units that move a partition can be told from new ones. */
  async #repeat({ owner }: StepOf<'repeat'>): Promise<void> {
    const { last } = this.#knowledge[owner]
    if (last === undefined || last.model.changes.length === 0) return
    // What was refused for another reason might be possible by now.
    if (this.#model.expected(last.model) !== 'fenced') return
    this.seen.push('repeated')
    assert.deepEqual(await this.#owners[owner].commit(last.unit), { outcome: 'fenced' })
  }

  async #acknowledge({ owner, partition, sparing }: StepOf<'acknowledge'>): Promise<void> {
    const row = this.#knowledge[owner].rows.get(partition)
    if (row === undefined) return
    const { epoch } = row
    const unit = Math.max(row.unit - sparing, 0)
    await this.#owners[owner].acknowledge(this.#service, [{ topic, partition, epoch, unit }])
    const before = this.#model.row(partition).outputs.length
    if (this.#model.row(partition).epoch === epoch) this.#model.acknowledge(partition, unit)
    if (this.#model.row(partition).outputs.length < before) this.seen.push('acknowledged')
  }

  async #wait({ hours }: StepOf<'wait'>): Promise<void> {
    await this.#age(hours * hour)
    this.#model.now += hours
  }

  async #unpublished({ owner, age }: StepOf<'unpublished'>): Promise<void> {
    const told = await this.#owners[owner].unpublished(this.#service, age * hour)
    const expected = this.#model.unpublished(age)
    assert.deepEqual(
      told.toSorted((a, b) => a.partition - b.partition),
      expected.map((partition) => ({ topic, partition, topicId: 'id' })),
    )
    if (expected.length > 0) this.seen.push('unpublished')
  }

  async #forget({ owner, window }: StepOf<'forget'>): Promise<void> {
    await forgetAll(new StoreProbe(this.#owners[owner], this.#service), window * hour)
    const before = this.#model.marks.size
    this.#model.forget(window)
    if (this.#model.marks.size < before) this.seen.push('forgotten')
    await this.#load({ do: 'load', owner, keys: [], ids: places(ids) })
  }
}

/** What an owner commits by what it knows. */
function modelUnit(step: StepOf<'commit'>, { versions, rows }: Knowledge): ModelUnit {
  return {
    applied: step.applied,
    writes: step.writes.flatMap((write, key) =>
      write === undefined ? [] : [{ ...write, key, version: versions.get(key) ?? 0 }],
    ),
    changes: step.progress.flatMap((progress, partition): ModelChange[] => {
      const row = rows.get(partition)
      if (progress === undefined || row === undefined) return []
      const { next, settled, outputs: values, sparing } = progress
      const { epoch, unit } = row
      const acknowledged = sparing === undefined ? undefined : Math.max(unit - sparing, 0)
      return [{ partition, epoch, unit, next, settled, values, acknowledged }]
    }),
  }
}

function places(all: readonly unknown[]): readonly number[] {
  return all.map((_, place) => place)
}
