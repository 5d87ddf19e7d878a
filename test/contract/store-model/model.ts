import type { OffsetRange } from '../../../src/ports/store.ts'
import type { Applied, Write } from './steps.ts'

interface ModelOutputs {
  readonly unit: number
  readonly values: readonly string[]
  readonly at: number
}

interface ModelRow {
  readonly epoch: number
  readonly unit: number
  readonly next: number | undefined
  readonly settled: readonly OffsetRange[]
  readonly outputs: readonly ModelOutputs[]
}

/** A change of one partition as the model sees it. */
export interface ModelChange {
  readonly partition: number
  readonly epoch: number
  readonly unit: number
  readonly next: number
  readonly settled: readonly OffsetRange[]
  readonly values: readonly string[]
  readonly acknowledged: number | undefined
}

/** A unit as the model sees it; keys and ids by their places. */
export interface ModelUnit {
  readonly applied: readonly Applied[]
  readonly writes: readonly (Write & { readonly key: number; readonly version: number })[]
  readonly changes: readonly ModelChange[]
}

const newRow: ModelRow = { epoch: 0, unit: 0, next: undefined, settled: [], outputs: [] }

/** What should be in the store of one service. Versions and epochs are the store's own. */
export class Model {
  readonly states = new Map<number, Write & { readonly version: number }>()
  readonly marks = new Map<number, Applied & { readonly at: number }>()
  readonly rows = new Map<number, ModelRow>()
  /** In hours. */
  now = 0

  row(partition: number): ModelRow {
    return this.rows.get(partition) ?? newRow
  }

  acquired(partition: number, epoch: number): void {
    this.rows.set(partition, { ...this.row(partition), epoch })
  }

  expected({ applied, writes, changes }: ModelUnit): 'committed' | 'conflict' | 'fenced' {
    const isStranger = ({ partition, epoch, unit }: ModelChange): boolean => {
      const row = this.rows.get(partition)
      return row === undefined || row.epoch !== epoch || row.unit !== unit
    }
    if (changes.some(isStranger)) return 'fenced'
    if (applied.some(({ id }) => this.marks.has(id))) return 'conflict'
    const isStale = ({ key, version }: { key: number; version: number }): boolean =>
      (this.states.get(key)?.version ?? 0) !== version
    return writes.some(isStale) ? 'conflict' : 'committed'
  }

  committed({ applied, writes, changes }: ModelUnit, versions: readonly number[]): void {
    for (const mark of applied) this.marks.set(mark.id, { ...mark, at: this.now })
    for (const [index, { key, value, guard }] of writes.entries()) {
      if (value === null && guard === null) this.states.delete(key)
      else this.states.set(key, { value, guard, version: versions[index] as number })
    }
    for (const { partition, next, settled, values, acknowledged } of changes) {
      if (acknowledged !== undefined) this.acknowledge(partition, acknowledged)
      const row = this.row(partition)
      const unit = row.unit + 1
      const added = values.length === 0 ? [] : [{ unit, values, at: this.now }]
      const outputs = [...row.outputs, ...added]
      this.rows.set(partition, { epoch: row.epoch, unit, next, settled, outputs })
    }
  }

  acknowledge(partition: number, acknowledged: number): void {
    const row = this.rows.get(partition)
    if (row === undefined) return
    const outputs = row.outputs.filter(({ unit }) => unit > acknowledged)
    this.rows.set(partition, { ...row, outputs })
  }

  unpublished(age: number): readonly number[] {
    return [...this.rows]
      .filter(([, { outputs }]) => outputs.some(({ at }) => this.now - at > age))
      .map(([partition]) => partition)
      .toSorted()
  }

  forget(window: number): void {
    for (const [id, { partition, offset, at }] of this.marks) {
      const { next } = this.row(partition)
      if (next !== undefined && offset < next && this.now - at > window) this.marks.delete(id)
    }
  }
}
