-- The shop, as it has been for twenty years. Nothing here knows of events, and nothing here was changed for them.

create table T_ARTIKEL (
  ART_NR      varchar(20)   not null primary key,
  BEZEICHNUNG varchar(80)   not null default '',
  VK_PREIS    decimal(10,2) not null default 0,
  WAEHRUNG    char(3)       not null default 'EUR',
  PREIS_DAT   datetime      null,
  BESTAND     int           not null default 0
) engine = InnoDB default character set utf8mb4;

create table T_PREISPROTOKOLL (
  LFD_NR    int           not null auto_increment primary key,
  ART_NR    varchar(20)   not null,
  ALT_PREIS decimal(10,2) null,
  NEU_PREIS decimal(10,2) null
) engine = InnoDB default character set utf8mb4;

create trigger TR_ARTIKEL_NEU after insert on T_ARTIKEL for each row
  insert into T_PREISPROTOKOLL (ART_NR, NEU_PREIS) values (new.ART_NR, new.VK_PREIS);

create trigger TR_ARTIKEL_PREIS after update on T_ARTIKEL for each row
  insert into T_PREISPROTOKOLL (ART_NR, ALT_PREIS, NEU_PREIS)
  select new.ART_NR, old.VK_PREIS, new.VK_PREIS from dual where new.VK_PREIS <> old.VK_PREIS;

create trigger TR_ARTIKEL_WEG after delete on T_ARTIKEL for each row
  insert into T_PREISPROTOKOLL (ART_NR, ALT_PREIS) values (old.ART_NR, old.VK_PREIS);

create view V_PREISLISTE as
  select concat(rpad(ART_NR, 6, ' '), rpad(BEZEICHNUNG, 20, ' '), lpad(format(VK_PREIS, 2), 9, ' '), ' ', WAEHRUNG,
    lpad(BESTAND, 5, ' ')) as ZEILE
  from T_ARTIKEL order by ART_NR;
